"""Configuration: read the settings, record where each value comes from, and turn them into options for the tasks."""
