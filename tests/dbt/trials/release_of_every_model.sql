{{ config(materialized='sqlanon_release', indexes=[{'columns': ['sex']}], meta={'sqlanon': {
    'source': 'trial_patients',
    'k': 5,
    'l_diversity': [
        {'column': 'diagnosis', 'l': 3},
        {'column': 'diagnosis', 'l': 3, 'kind': 'entropy'},
        {'column': 'diagnosis', 'l': 2, 'kind': 'recursive', 'c': 2.5}
    ],
    'p_sensitive': [{'column': 'diagnosis', 'p': 3}],
    'alpha': [{'column': 'diagnosis', 'value': 'HIV', 'alpha': 0.4}],
    't_closeness': [
        {'column': 'diagnosis', 't': 0.5},
        {'column': 'diagnosis', 't': 0.5, 'distance': 'ordered', 'order': [
            'influenza', 'gastritis', 'asthma', 'arthritis', 'hypertension', 'diabetes', 'pneumonia', 'HIV'
        ]},
        {'column': 'cost', 't': 0.5, 'distance': 'ordered'}
    ],
    'columns': {
        'sex': {'role': 'quasi_identifier'}, 'diagnosis': {'role': 'sensitive'}, 'cost': {'role': 'sensitive'}
    }
}}) }}

select sex, diagnosis, cost from {{ ref('trial_patients') }}
