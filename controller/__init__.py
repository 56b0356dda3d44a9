"""Estimators of acceptance and cost, and the controller that the server and the simulator both call."""
