{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients', 'k': 1, 'columns': {'zip': {'role': 'quasi_identifier'}}
}}) }}

select zip from {{ ref('trial_patients') }} where 1 = 0
