{#
  Evidence of a build, in the tables that `sqlanon run` keeps its own in: counts, levels, digests; no value of the data.
  It is on where the variable `sqlanon_evidence` is true, or names the schema of the tables.
#}

{#- Statements for `on-run-start`: models are built side by side, so the tables stand before the first of them. -#}
{% macro create_evidence_tables() %}
    {%- if execute and sqlanon.evidence_schema() %}
        create schema if not exists {{ adapter.quote(sqlanon.evidence_schema()) }};
        {%- for name, columns in sqlanon.evidence_columns().items() %}
            {%- set relation = sqlanon.evidence_relation(name) %}
            {%- if not sqlanon.evidence_stands(relation) %}
                create table {{ relation }} ({{ columns | join(', ') }});
                {{ sqlanon.owner_only(relation) }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{% endmacro %}


{% macro evidence_schema() %}
    {% set asked = var('sqlanon_evidence', false) %}
    {{ return(target.schema if asked is true else (asked or none)) }}
{% endmacro %}


{% macro evidence_relation(name) %}
    {{ return(api.Relation.create(
        database=target.database, schema=sqlanon.evidence_schema(), identifier=name, type='table'
    )) }}
{% endmacro %}


{#- What the hook made just now is not in the cache of dbt: the catalog is asked. -#}
{% macro evidence_stands(relation) %}
    {% set counts %}
        select count(*)
        from information_schema.tables
        where table_catalog = {{ sqlanon.text_literal(relation.database) }}
            and table_schema = {{ sqlanon.text_literal(relation.schema) }}
            and table_name = {{ sqlanon.text_literal(relation.identifier) }}
    {% endset %}
    {{ return(run_query(counts).rows[0][0] | int > 0) }}
{% endmacro %}


{#- As sql/metadata has them. -#}
{% macro evidence_columns() %}
    {% set text, whole, big = dbt.type_string(), dbt.type_int(), dbt.type_bigint() %}
    {% set double = 'double precision' %}
    {{ return({
        'sqlanon_run': [
            'run ' ~ text ~ ' not null', 'command ' ~ text, 'outcome ' ~ text, 'failure ' ~ text, 'spec_hash ' ~ text,
            'recipient ' ~ text, 'source ' ~ text, 'target ' ~ text, 'engine ' ~ text, 'engine_version ' ~ text,
            'sqlanon_version ' ~ text, 'python_version ' ~ text, 'started_utc timestamp', 'finished_utc timestamp',
            'source_rows ' ~ big, 'suppressed_rows ' ~ big, 'blanked_rows ' ~ big, 'released_rows ' ~ big,
            'classes ' ~ big, 'smallest_class ' ~ big, 'satisfied boolean', 'evidence ' ~ text,
        ],
        'sqlanon_run_level': [
            'run ' ~ text ~ ' not null', 'place ' ~ whole, 'column_name ' ~ text, 'level ' ~ whole, 'height ' ~ whole,
        ],
        'sqlanon_run_check': [
            'run ' ~ text ~ ' not null', 'place ' ~ whole, 'model ' ~ text, 'column_name ' ~ text, 'required ' ~ text,
            'measured ' ~ double, 'classes_at_risk ' ~ big, 'rows_at_risk ' ~ big, 'satisfied boolean',
        ],
        'sqlanon_run_statement': [
            'run ' ~ text ~ ' not null', 'place ' ~ whole, 'step ' ~ text, 'seconds ' ~ double, 'row_count ' ~ big,
            'failed boolean',
        ],
    }) }}
{% endmacro %}


{#- Whatever a schema grants by default, only the owner reads the table. -#}
{% macro owner_only(relation) %}
    {{ return(adapter.dispatch('owner_only', 'sqlanon')(relation)) }}
{% endmacro %}

{% macro default__owner_only(relation) %}
{% endmacro %}

{% macro postgres__owner_only(relation) %}
    revoke all on table {{ relation }} from public;
    do $sqlanon$
    declare
        reader text;
    begin
        for reader in
            select distinct granted.grantee::regrole::text
            from pg_catalog.pg_class as stored, aclexplode(stored.relacl) as granted
            where stored.oid = {{ sqlanon.text_literal(relation | string) }}::regclass
                and granted.grantee not in (0, stored.relowner)
        loop
            execute 'revoke all on table {{ relation | string | replace("'", "''") }} from ' || reader;
        end loop;
    end
    $sqlanon$;
{% endmacro %}


{#-
  Keep what was built and measured, in the transaction of the release. `build` has the model, its meta, when it began,
  the steps with their seconds, what was measured, rows of the source and of the release, the smallest class.
-#}
{% macro keep_evidence(build) %}
    {% if not sqlanon.evidence_schema() %}
        {{ return(none) }}
    {% endif %}
    {% for name in sqlanon.evidence_columns() if not sqlanon.evidence_stands(sqlanon.evidence_relation(name)) %}
        {{ sqlanon.refuse(
            "sqlanon_evidence: there is no table '" ~ name ~ "': call sqlanon.create_evidence_tables() in on-run-start "
            ~ 'of dbt_project.yml'
        ) }}
    {% endfor %}
    {% set part = sqlanon.written_part(build.model) %}
    {% set stated = modules.re.search('(?m)^-- Spec: ([0-9a-f]{64})$', part) %}
    {% set spec_hash = stated.group(1) if stated else none %}
    {% set levels = sqlanon.stated_levels(part) %}
    {% set run = local_md5(invocation_id ~ ' ' ~ build.model.unique_id)[:12] %}
    {% set finished = modules.datetime.datetime.now(modules.pytz.utc) %}
    {% set suppressed = build.source_rows - build.released_rows - build.held %}
    {% set document = {
        'version': 1,
        'run': run,
        'command': 'dbt ' ~ flags.WHICH,
        'started': build.started.isoformat(timespec='milliseconds'),
        'finished': finished.isoformat(timespec='milliseconds'),
        'outcome': 'published',
        'failure': none,
        'spec': {'file': build.model.original_file_path, 'hash': spec_hash},
        'recipient': none,
        'source': build.meta.source,
        'target': build.model.unique_id,
        'engine': target.type,
        'versions': {'dbt': dbt_version, 'invocation': invocation_id, 'signature': sqlanon.stated_signature(part)},
        'rows': {
            'source': build.source_rows, 'suppressed': suppressed, 'blanked': 0, 'released': build.released_rows
        },
        'vector': levels | map('last') | list,
        'levels': dict(levels),
        'audit': {'before': none, 'after': {
            'classes': build.classes, 'k': build.smallest, 'satisfied': true, 'requirements': build.measured
        }},
    } %}
    {% if build.series %}
        {% do document.update({'history': build.series}) %}
    {% endif %}
    {% do sqlanon.insert_evidence('sqlanon_run', [[
        run, document.command, 'published', none, spec_hash, none, build.meta.source, build.model.unique_id, target.type,
        none, none, none, ['timestamp', build.started.strftime('%Y-%m-%d %H:%M:%S.%f')],
        ['timestamp', finished.strftime('%Y-%m-%d %H:%M:%S.%f')], build.source_rows, suppressed, 0,
        build.released_rows, build.classes, build.smallest, true, tojson(document)
    ]]) %}
    {% set rows = [] %}
    {% for name, level in levels %}
        {% do rows.append([run, loop.index0, name, level, none]) %}
    {% endfor %}
    {% do sqlanon.insert_evidence('sqlanon_run_level', rows) %}
    {% set rows = [] %}
    {% for check in build.measured %}
        {% do rows.append([
            run, loop.index0, check.model, check.column, check.required, none, check.classes_at_risk,
            check.rows_at_risk, true
        ]) %}
    {% endfor %}
    {% do sqlanon.insert_evidence('sqlanon_run_check', rows) %}
    {% set rows = [] %}
    {% for step in build.steps %}
        {% do rows.append([run, loop.index0, step[0], step[1], step[2], false]) %}
    {% endfor %}
    {% do sqlanon.insert_evidence('sqlanon_run_statement', rows) %}
{% endmacro %}


{% macro stated_signature(part) %}
    {{ return(modules.re.search('(?m)^-- Signature: ([0-9a-f]{32})$', part).group(1)) }}
{% endmacro %}


{% macro insert_evidence(name, rows) %}
    {% set tuples = [] %}
    {% for row in rows %}
        {% set values = [] %}
        {% for value in row %}
            {% if value is none %}
                {% do values.append('null') %}
            {% elif value is boolean or value is number %}
                {% do values.append(value | string | lower) %}
            {% elif value is string %}
                {% do values.append(sqlanon.text_literal(value)) %}
            {% else %}
                {% do values.append('cast(' ~ sqlanon.text_literal(value[1]) ~ ' as ' ~ value[0] ~ ')') %}
            {% endif %}
        {% endfor %}
        {% do tuples.append('(' ~ values | join(', ') ~ ')') %}
    {% endfor %}
    {% if tuples %}
        {% set into = 'insert into ' ~ sqlanon.evidence_relation(name) ~ ' values ' %}
        {% do run_query(into ~ tuples | join(', ')) %}
    {% endif %}
{% endmacro %}
