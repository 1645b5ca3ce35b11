{{ config(materialized='sqlanon_release') }}

select sex from {{ ref('trial_patients') }}
