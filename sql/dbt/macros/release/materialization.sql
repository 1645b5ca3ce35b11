{#
  A table that is audited before it is swapped in, all in one transaction where the adapter has them.
  A release that fails its requirement raises an error with counts, and the table that stood before still stands.
#}

{% materialization sqlanon_release, default %}
    {%- set started = modules.datetime.datetime.now(modules.pytz.utc) -%}
    {%- set ns = namespace(rows={}) -%}
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

    {%- set seconds = (modules.datetime.datetime.now(modules.pytz.utc) - started).total_seconds() -%}

    {%- set roles = sqlanon.roles_of(model, meta) -%}
    {%- set columns = sqlanon.columns_by_role(sqlanon.columns_of(built), roles, meta.get('default_role')) -%}
    {%- set findings = sqlanon.column_findings(columns, roles, meta) -%}
    {%- set measured = [] -%}
    {% if not findings %}
        {%- do findings.extend(sqlanon.label_findings(model, built)) -%}
        {%- set held = sqlanon.hold_back(model, meta, built) if meta.get('history') else 0 -%}
        {%- do measured.extend(sqlanon.audit_measures(built, columns.quasi_identifier, meta)) -%}
        {%- do findings.extend(sqlanon.failures(measured)) -%}
        {#- Rows that wait for others are no suppressed ones: the limit is asked of the rest. -#}
        {%- set rows = sqlanon.rows_of_both(built, meta, held) -%}
        {%- do findings.extend(sqlanon.suppression_findings(rows, meta)) -%}
        {%- set ns.rows = rows -%}
    {% endif %}
    {% if findings %}
        {% do adapter.drop_relation(built) %}
        {{ sqlanon.refuse('the release was not published: ' ~ findings | join('; ')) }}
    {% endif %}
    {%- set smallest = sqlanon.smallest_class(built, columns.quasi_identifier, meta) -%}

    {%- set released = sqlanon.without_columns(built, narrowed, columns.identifier) -%}
    {% if existing is not none %}
        {% do sqlanon.prepare_rename(existing) %}
        {% do adapter.rename_relation(existing, backup) %}
    {% endif %}
    {% do adapter.rename_relation(released, target_relation) %}
    {%- set series = sqlanon.remember(model, target_relation) if meta.get('history') else none -%}
    {% do create_indexes(target_relation) %}

    {{ run_hooks(post_hooks, inside_transaction=True) }}
    {%- set revoke = should_revoke(existing, full_refresh_mode=True) -%}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=revoke) %}
    {% do persist_docs(target_relation, model) %}
    {%- set classes = measured[0].classes -%}
    {%- set unit = ' respondents' if meta.get('respondent') else ' rows' -%}
    {%- set found = ' rows in ' ~ classes ~ ' classes, the smallest of ' ~ smallest ~ unit -%}
    {% do sqlanon.tell_in_docs(target_relation, model, ns.rows.released ~ found) %}
    {% do sqlanon.keep_evidence({
        'model': model, 'meta': meta, 'started': started, 'measured': measured, 'smallest': smallest,
        'classes': classes, 'source_rows': ns.rows.source, 'released_rows': ns.rows.released, 'series': series,
        'held': ns.rows.held,
        'steps': sqlanon.steps_of(measured, seconds, ns.rows.released)
    }) %}
    {{ adapter.commit() }}

    {#- What dbt prints of the model, and keeps in run_results.json. -#}
    {%- set waiting = '; ' ~ series.deferred ~ ' newcomers wait, ' ~ series.covered ~ ' leave with others' if series else '' -%}
    {%- set told = ns.rows.released ~ ' of ' ~ ns.rows.source ~ found ~ waiting -%}
    {% do store_raw_result('main', message=told, code='sqlanon_release', rows_affected=ns.rows.released) %}

    {{ drop_relation_if_exists(backup) }}
    {{ run_hooks(post_hooks, inside_transaction=False) }}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- The table's comment, which `dbt docs` shows: with evidence it tells the counts, below the model's description. -#}
{% macro tell_in_docs(relation, model, found) %}
    {% if sqlanon.evidence_schema() %}
        {% set described = model.description ~ '\n\n' if config.persist_relation_docs() and model.description else '' %}
        {% do run_query(alter_relation_comment(relation, described ~ 'Released by sqlanon: ' ~ found ~ '.')) %}
    {% endif %}
{% endmacro %}


{#- What failed, in words. -#}
{% macro failures(measured) %}
    {% set found = [] %}
    {% for check in measured if check.finding %}
        {% do found.append(check.name ~ ': ' ~ check.finding) %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}


{#- [step, seconds, rows] of a build. -#}
{% macro steps_of(measured, seconds, released) %}
    {% set steps = [['build', seconds, released]] %}
    {% for check in measured %}
        {% do steps.append(['audit ' ~ check.name, check.seconds, 1]) %}
    {% endfor %}
    {{ return(steps) }}
{% endmacro %}


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
