{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients', 'k': 2,
    'respondent': 'patient_id',
    'columns': {'patient_id': {'role': 'identifier'}, 'sex': {'role': 'quasi_identifier'}}
}}) }}

select min(patient_id) over () as patient_id, sex from {{ ref('trial_patients') }}
