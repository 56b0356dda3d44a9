"""The simulator: recorded traces through depth policies, and how far each is from the best possible."""
