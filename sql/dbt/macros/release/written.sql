{#
  A release is built from SQL that `sqlanon dbt` wrote, and nobody changed since: only then are its labels those of its
  hierarchies, at levels that the columns allow. The digest is no secret; it keeps out what was written by hand.
#}

{% macro require_written(model, meta) %}
    {% set code = model.raw_code.replace('\r\n', '\n').strip() %}
    {% set found = modules.re.search('(?m)^-- Signature: ([0-9a-f]{32})$', code) %}
    {% if not found %}
        {{ sqlanon.refuse(
            "model '" ~ model.name ~ "' was not written by `sqlanon dbt`: run the command, it writes the release"
        ) }}
    {% endif %}
    {% set unsigned = modules.re.sub('(?m)^-- Signature: [0-9a-f]{32}$', '-- Signature: ' ~ '0' * 32, code, count=1) %}
    {% if local_md5(unsigned) != found.group(1) %}
        {{ sqlanon.refuse(
            "model '" ~ model.name ~ "' was changed after `sqlanon dbt` wrote it: run the command again"
        ) }}
    {% endif %}
    {% set stated = modules.re.search('(?m)^-- Levels: (.*)$', code) %}
    {% set levels = dict(fromjson(stated.group(1))) if stated else {} %}
    {% for name, bounds in sqlanon.level_bounds(model, meta).items() %}
        {% set level = levels.get(name) %}
        {% set least = bounds.get('min') or 0 %}
        {% set most = bounds.get('max') %}
        {% if level is none or level < least or (most is not none and level > most) %}
            {{ sqlanon.refuse(
                "column '" ~ name ~ "': the model shows level " ~ level ~ ", which its levels do not allow: run "
                ~ "`sqlanon dbt` again"
            ) }}
        {% endif %}
    {% endfor %}
{% endmacro %}


{#- {quasi-identifier: its levels} as the model's properties and its own meta state them. -#}
{% macro level_bounds(model, meta) %}
    {% set found = {} %}
    {% for name, stated in (meta.get('columns') or {}).items() if stated.get('role') == 'quasi_identifier' %}
        {% do found.update({name: stated.get('levels') or {}}) %}
    {% endfor %}
    {% for name, column in model.columns.items() %}
        {% set stated = (column.config.meta or {}).get('sqlanon') or (column.meta or {}).get('sqlanon') or {} %}
        {% if stated.get('role') == 'quasi_identifier' %}
            {% do found.update({name: stated.get('levels') or {}}) %}
        {% endif %}
    {% endfor %}
    {{ return(found) }}
{% endmacro %}
