"""Sub-commands of ``sim``, one a module: ``NAME``, ``HELP``, ``configure(parser)`` and ``run(args)``."""
