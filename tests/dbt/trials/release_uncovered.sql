{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients',
    't_closeness': [{'column': 'diagnosis', 't': 1, 'distance': 'ordered', 'order': ['influenza', 'HIV']}],
    'columns': {'sex': {'role': 'quasi_identifier'}, 'diagnosis': {'role': 'sensitive'}}
}}) }}

select sex, diagnosis from {{ ref('trial_patients') }}
