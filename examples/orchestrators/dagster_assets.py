"""A release that follows the table it is made from."""

from __future__ import annotations

import os

from dagster import Definitions

from sqlanon.api.dagster import release_asset

patients = release_asset(os.environ.get("PATIENTS_SPEC", "patients.yaml"), name="patients_release", deps=["patients"])
definitions = Definitions(assets=[patients])
