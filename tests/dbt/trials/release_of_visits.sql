{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_visits',
    'k': 5,
    'respondent': 'patient_id',
    'columns': {'patient_id': {'role': 'identifier'}, 'sex': {'role': 'quasi_identifier'}},
    'default_role': 'insensitive'
}}) }}

select patient_id, sex, diagnosis from {{ ref('trial_visits') }}
