"""The live view of a running server: sources, frozen snapshots, a pure renderer and a small driver."""
