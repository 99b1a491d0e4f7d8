"""Configuration: the settings, where each value comes from, and the options that the tasks take."""
