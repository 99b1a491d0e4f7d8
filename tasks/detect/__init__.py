"""Detection: what a document and each region of it is, with score, runner-up and evidence, and no model."""

from docmill.tasks.detect.regions import Region, find_regions
from docmill.tasks.detect.scores import CONTENT_TYPES
from docmill.tasks.detect.verdict import DETECTOR_VERSION, Verdict, detect

__all__ = ["CONTENT_TYPES", "DETECTOR_VERSION", "Region", "Verdict", "detect", "find_regions"]
