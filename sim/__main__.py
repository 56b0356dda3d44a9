"""``python -m adaptive_depth.sim``, and ``python -m sim`` in the repository: the ``sim`` script."""

import sys

from adaptive_depth.sim.cli import main

sys.exit(main())
