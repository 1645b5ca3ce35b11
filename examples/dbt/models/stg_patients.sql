{{ config(materialized='view') }}

select patient_id, name, zip, birth_date, sex, marital, diagnosis, cost
from {{ ref('raw_patients') }}
