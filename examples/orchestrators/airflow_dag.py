"""Every night: the release that a reviewed lock file decided."""

from __future__ import annotations

from airflow.sdk import DAG

from sqlanon.api.airflow import ReleaseOperator

with DAG("patients_release", schedule="@daily") as dag:
    ReleaseOperator(task_id="publish", release="/srv/releases/patients.lock.json")
