{{ config(materialized='table') }}

select * from {{ ref('trial_patients') }}
union all
select * from {{ ref('trial_patients') }}
