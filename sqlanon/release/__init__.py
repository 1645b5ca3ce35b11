"""From a recoding to the published table: classes measured anew, staging, audit, swap; lock, script, evidence."""
