{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients', 'k': 5, 'columns': {'sex': {'role': 'quasi_identifier'}}
}}) }}

select sex, name from {{ ref('trial_patients') }}
