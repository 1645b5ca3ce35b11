{{ config(materialized='table') }}

select * from {{ ref('stg_patients') }} where diagnosis <> 'kuru'
