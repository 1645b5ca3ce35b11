{#
  A table that is audited before it is swapped in, all in one transaction where the adapter has them.
  A release that fails its requirement raises an error with counts, and the table that stood before still stands.
#}

{% materialization sqlanon_release, default %}
    {%- set meta = sqlanon.requirement_of(model) -%}
    {%- do sqlanon.require_written(model, meta) -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set built = make_intermediate_relation(target_relation) -%}
    {%- set narrowed = make_intermediate_relation(target_relation, '__sqlanon_tmp') -%}
    {%- set backup = make_backup_relation(target_relation, 'table' if existing is none else existing.type) -%}
    {%- for leftover in [built, narrowed, backup] -%}
        {{ drop_relation_if_exists(load_cached_relation(leftover)) }}
    {%- endfor -%}

    {{ run_hooks(pre_hooks, inside_transaction=False) }}
    {{ run_hooks(pre_hooks, inside_transaction=True) }}

    {% call statement('main') -%}
        {{ get_create_table_as_sql(False, built, sql) }}
    {%- endcall %}

    {%- set roles = sqlanon.roles_of(model, meta) -%}
    {%- set columns = sqlanon.columns_by_role(sqlanon.columns_of(built), roles, meta.get('default_role')) -%}
    {%- set findings = sqlanon.column_findings(columns, roles, meta)
        or sqlanon.label_findings(model, built) + sqlanon.audit_findings(built, columns.quasi_identifier, meta) -%}
    {% if findings %}
        {% do adapter.drop_relation(built) %}
        {{ sqlanon.refuse('the release was not published: ' ~ findings | join('; ')) }}
    {% endif %}

    {%- set released = sqlanon.without_columns(built, narrowed, columns.identifier) -%}
    {% if existing is not none %}
        {% do sqlanon.prepare_rename(existing) %}
        {% do adapter.rename_relation(existing, backup) %}
    {% endif %}
    {% do adapter.rename_relation(released, target_relation) %}
    {% do create_indexes(target_relation) %}

    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {%- set revoke = should_revoke(existing, full_refresh_mode=True) -%}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=revoke) %}
    {% do persist_docs(target_relation, model) %}
    {{ adapter.commit() }}

    {{ drop_relation_if_exists(backup) }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- Identifiers that the model selects, such as the respondent, are for the audit alone: the release is a copy without. -#}
{% macro without_columns(relation, copy, names) %}
    {% if not names %}
        {{ return(relation) }}
    {% endif %}
    {% set kept = [] %}
    {% for column in sqlanon.columns_of(relation) if column.name not in names %}
        {% do kept.append(adapter.quote(column.name)) %}
    {% endfor %}
    {% call statement('narrow') -%}
        create table {{ copy }} as select {{ kept | join(', ') }} from {{ relation }}
    {%- endcall %}
    {% do adapter.drop_relation(relation) %}
    {{ return(copy) }}
{% endmacro %}


{% macro prepare_rename(relation) %}
    {{ return(adapter.dispatch('prepare_rename', 'sqlanon')(relation)) }}
{% endmacro %}

{% macro default__prepare_rename(relation) %}
{% endmacro %}

{#- DuckDB renames no table that has an index. -#}
{% macro duckdb__prepare_rename(relation) %}
    {% do drop_indexes_on_relation(relation) %}
{% endmacro %}
