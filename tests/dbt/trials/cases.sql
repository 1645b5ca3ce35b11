{{ config(materialized='table') }}

select
    cast(null as {{ dbt.type_string() }}) as "group",
    cast(null as integer) as age,
    cast(null as {{ dbt.type_string() }}) as illness,
    cast(null as integer) as stage,
    cast(null as {{ dbt.type_string() }}) as person
where 1 = 0
