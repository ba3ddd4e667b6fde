"""Show a comparison: the summary, the report, the result file and figures. Nothing is measured here."""
