{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients', 'k': 5,
    'beta_likeness': [{'column': 'diagnosis', 'beta': 3}],
    'columns': {'sex': {'role': 'quasi_identifier'}, 'diagnosis': {'role': 'sensitive'}}
}}) }}

select sex, diagnosis from {{ ref('trial_patients') }}
