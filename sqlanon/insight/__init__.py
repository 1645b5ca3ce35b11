"""What a spec's release exposes and keeps: risk, attacks and utility, of the source and of the published target.

Orchestrates; reads aggregates, and writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from sqlanon.insight.exposure import attack, risk, risk_of_table
from sqlanon.insight.options import PLAIN_ATTACK, PLAIN_RISK, PLAIN_UTILITY, AttackOptions, RiskOptions, UtilityOptions
from sqlanon.insight.series import SeriesRequest, SeriesResult, series_of_spec, series_of_tables
from sqlanon.insight.use import utility

__all__ = [
    "PLAIN_ATTACK",
    "PLAIN_RISK",
    "PLAIN_UTILITY",
    "AttackOptions",
    "RiskOptions",
    "SeriesRequest",
    "SeriesResult",
    "UtilityOptions",
    "attack",
    "risk",
    "risk_of_table",
    "series_of_spec",
    "series_of_tables",
    "utility",
]
