{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': 'trial_patients', 'k': 5, 'columns': {'zip': {'role': 'quasi_identifier'}, 'birth_date': {'role': 'quasi_identifier'}}
}}) }}

select zip, birth_date from {{ ref('trial_patients') }}
