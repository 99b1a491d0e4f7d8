"""Quality: judge, measure and tune searches."""
