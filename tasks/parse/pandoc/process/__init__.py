"""The process of pandoc, which reads documents of other formats as syntax trees."""
