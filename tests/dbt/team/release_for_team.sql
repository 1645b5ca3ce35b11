-- Reviewed by the data team, every Monday.
{{ config(
    materialized='sqlanon_release',
    alias='patients_for_research',
    schema='research',
    tags=['nightly', 'release'],
    pre_hook="create table if not exists {{ target.schema }}.hooks_of_team (said varchar(20))",
    post_hook=["insert into {{ target.schema }}.hooks_of_team values ('published')"],
    contract={'enforced': true},
) }}

select * from {{ ref('stg_patients') }}

{# The end of the file is the team's too. #}
