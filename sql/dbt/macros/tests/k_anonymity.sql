{% test k_anonymity(model, columns, k, respondent=none) -%}
    {{ config(fail_calc='coalesce(sum(violations), 0)') }}
    {{ adapter.dispatch('test_k_anonymity', 'sqlanon')(model, columns, k, respondent) }}
{%- endtest %}

{% macro default__test_k_anonymity(model, columns, k, respondent=none) -%}
    {%- if execute %}
        {{ sqlanon.violations(sqlanon.k_anonymity_counts(model, columns, k, respondent)) }}
    {%- endif %}
{%- endmacro %}
