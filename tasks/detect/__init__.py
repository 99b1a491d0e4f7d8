"""Detection: what a document and each region of it is, with score, runner-up and evidence, and no model."""

from tasks.detect.regions import Region, find_regions
from tasks.detect.scores import CONTENT_TYPES
from tasks.detect.verdict import DETECTOR_VERSION, Verdict, detect

__all__ = ["CONTENT_TYPES", "DETECTOR_VERSION", "Region", "Verdict", "detect", "find_regions"]
