{{ config(materialized='sqlanon_release', meta={'sqlanon': {
    'source': "ref('trial_patients')",
    'k': 5,
    'suppression': {'limit': '5%'},
    'columns': {'sex': {'role': 'quasi_identifier'}}
}}) }}

select sex from {{ ref('trial_patients') }} where sex = 'male'
