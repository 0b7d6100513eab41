vcl 4.1;

# Written by `shopwindow edge varnish`: write it again rather than edit it, when a build says so.
{% if rules.key_header %}
# It holds digests of API keys and no key, so it is no secret.
{% endif %}
#
# What it caches: reads that a release holds as files, in the spellings that an edge understands. Every other request is
# passed to the service, which reads every spelling and says what may be stored by whom; nothing of that is stored here.

{% if rules.key_header %}
import digest;  # Debian: varnish-vmod-digest
{% endif %}
import std;

backend shopwindow_service {
{% for name, value in service %}
    .{{ name }} = {{ value | text }};
{% endfor %}
    .connect_timeout = 5s;
    .first_byte_timeout = {{ patience }}s;
    .between_bytes_timeout = {{ patience }}s;

    # OPTIONS needs no key, and is the same for every path.
    .probe = {
        .request = "OPTIONS / HTTP/1.1" {{ ("Host: " ~ rules.base_host) | text }} "Connection: close";
        .expected_response = 204;
        .interval = 5s;
        .timeout = 2s;
        .window = 3;
        .threshold = 2;
        .initial = 2;
    }
}

# Who may take something out of the cache.
acl shopwindow_purgers {
{% for address in purgers %}
    {{ address }};
{% endfor %}
}

# -- which file ---------------------------------------------------------------------------------------------------

# X-Shopwindow-Format: the format of an answer. Accept is read as a whole: the common spellings, and no others.
sub shopwindow_format {
    std.collect(req.http.Accept);
{% for format, values in accepts %}
    if (req.http.Accept ~ {{ values | text }}) {
        set req.http.X-Shopwindow-Format = "{{ format }}";
    }
{% endfor %}
{% if no_accept %}
    if (!req.http.Accept || req.http.Accept == "") {
        set req.http.X-Shopwindow-Format = "{{ no_accept }}";
    }
{% endif %}
}

{% if rules.key_header %}
# X-Shopwindow-Application: whose key it is. It, and not the key, tells the entries of the cache apart.
sub shopwindow_application {
    std.collect(req.http.{{ rules.key_header }});
    set req.http.X-Shopwindow-Digest = digest.hash_sha256(req.http.{{ rules.key_header }});
{% for name, digests in rules.applications %}
{% for digest in digests %}
    if (req.http.X-Shopwindow-Digest == "{{ digest }}") {
        set req.http.X-Shopwindow-Application = {{ name | text }};
    }
{% endfor %}
{% endfor %}
    unset req.http.X-Shopwindow-Digest;
}

{% endif %}
# X-Shopwindow-Target: the URL without parameters that the operation does not read. X-Shopwindow-File: the file that
# answers it, without its extension. X-Shopwindow-Variant: which of that name's files.
sub shopwindow_file {
{% for route in routes %}
    # {{ route.operation }}
    if (req.url ~ {{ route.place | text }}) {
        set req.http.X-Shopwindow-Target = {% if route.unread %}regsub(
            regsuball(req.url, {{ route.unread | text }}, ""), "[?&]+$", ""){% else %}req.url{% endif %};
{% for target in route.targets %}
        if (req.http.X-Shopwindow-Target ~ {{ target.pattern | text }}) {
            set req.http.X-Shopwindow-File = regsub(req.http.X-Shopwindow-Target,
                {{ target.pattern | text }}, {{ target.stem | text }});
            set req.http.X-Shopwindow-Variant = req.http.X-Shopwindow-Format{% if target.by_application %} + " " + req.http.X-Shopwindow-Application{% endif %};
        }
{% endfor %}
    }
{% endfor %}
}

# -- requests -----------------------------------------------------------------------------------------------------

sub vcl_recv {
    # What this file decides, no client says.
    unset req.http.X-Shopwindow-Format;
    unset req.http.X-Shopwindow-Application;
    unset req.http.X-Shopwindow-Target;
    unset req.http.X-Shopwindow-File;
    unset req.http.X-Shopwindow-Variant;

    # The client's own id of a request where it is sane, as the service judges it; else Varnish's.
    if (req.http.X-Request-Id !~ "^[A-Za-z0-9][A-Za-z0-9._:=+/@-]{0,127}$") {
        set req.http.X-Request-Id = req.xid;
    }

    # The service answers no parts; Varnish would cut them out of its answers.
    unset req.http.Range;

    call shopwindow_format;
    if (req.method == "PURGE") {
        # One that another proxy hands on is a stranger's, however near the proxy is.
        if (client.ip !~ shopwindow_purgers || req.http.X-Forwarded-For ~ ",") {
            return (pass);
        }
        call shopwindow_file;
        if (req.http.X-Shopwindow-File) {
            return (purge);
        }
        return (synth(200, "Nothing of this URL is stored"));
    }
{% if rules.order_host %}

    # The order host: there is nothing that a file could hold.
    if (req.http.Host ~ {{ order_host | text }}) {
        return (pass);
    }
{% endif %}

    # The service knows which origins may read, that files have no dates, and which bodies it refuses.
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    if (req.http.Origin || req.http.If-Match || req.http.If-Unmodified-Since
        || req.http.Content-Length || req.http.Transfer-Encoding) {
        return (pass);
    }
{% if rules.key_header %}
{% if open_paths %}

    # The documentation needs no key.
    if (req.url ~ {{ open_paths | text }}) {
        return (pass);
    }
{% endif %}

    # A client without a key learns nothing, and nobody behind this hears of it.
    call shopwindow_application;
    if (!req.http.X-Shopwindow-Application) {
        return (synth(401));
    }
{% endif %}

    # Varnish compares If-None-Match with one ETag; the service reads a list and `*`.
    if (!req.http.X-Shopwindow-Format || req.http.If-None-Match ~ "[*,]") {
        return (pass);
    }
    call shopwindow_file;
    if (!req.http.X-Shopwindow-File) {
        return (pass);
    }

    # From here on every spelling of the question is the same question. Files have no dates.
    set req.url = req.http.X-Shopwindow-Target;
{% for format, media_type in rules.media_types %}
    if (req.http.X-Shopwindow-Format == "{{ format }}") {
        set req.http.Accept = "{{ media_type }}";
    }
{% endfor %}
    unset req.http.Cookie;
    unset req.http.Authorization;
    unset req.http.If-Modified-Since;

    # While the service is there, an answer that is too old is served for ten seconds at most, as it is fetched again.
    # It is there until it has missed two probes, or fails: then the request comes here once more (vcl_deliver).
    if (std.healthy(req.backend_hint) && req.restarts == 0) {
        set req.grace = 10s;
    }
    return (hash);
}

# Neither the key nor the host nor a spelling: a URL that is purged is purged in every format, for every application.
sub vcl_hash {
    hash_data(req.http.X-Shopwindow-File);
    return (lookup);
}

# A read that has a body is the service's to judge; Varnish's own rules would drop the body. What Varnish stores for
# everybody it compresses itself: the service would do it by the coding that Varnish asks for.
sub vcl_backend_fetch {
    if (bereq.http.X-Shopwindow-File) {
        unset bereq.http.Accept-Encoding;
    }
    return (fetch);
}

sub vcl_backend_response {
    if (bereq.uncacheable || !bereq.http.X-Shopwindow-File) {
        return (deliver);
    }
    # Not the service's own Vary: that names the key, which would stand in the cache.
    set beresp.http.Vary = "X-Shopwindow-Variant";
    if (beresp.status >= 500 && bereq.is_bgfetch) {
        return (abandon);  # the former answer is better than none
    }
    if (beresp.status != 200 || beresp.http.Cache-Control !~ "^max-age=") {
        set beresp.uncacheable = true;
        set beresp.ttl = 10s;
        return (deliver);
    }
    # Of the request that was fetched, and of no later one.
    unset beresp.http.X-Request-Id;

    # From 1 KiB on: compressing less saves no packet.
    if (!beresp.http.Content-Encoding && std.integer(beresp.http.Content-Length, 0) >= 1024) {
        set beresp.do_gzip = true;
    }
    # While the service cannot be reached, what was stored is served for six hours.
    set beresp.grace = 6h;
    return (deliver);
}

sub vcl_deliver {
    if (req.http.X-Shopwindow-File) {
        if (resp.status >= 500 && req.restarts == 0) {
            return (restart);
        }
        set resp.http.Vary = {{ rules.vary | text }};
    }
    set resp.http.X-Request-Id = req.http.X-Request-Id;
    unset resp.http.Accept-Ranges;
    unset resp.http.X-Varnish;
    return (deliver);
}

# -- what Varnish answers by itself -------------------------------------------------------------------------------

{# What is said of an error in each format: the first of them also where Accept was not understood. #}
{% macro failure(indent, response, request, error) %}
{% for format, body in error.bodies %}
{{ indent }}if ({{ request }}.http.X-Shopwindow-Format == "{{ format }}"{% if loop.first %} || !{{ request }}.http.X-Shopwindow-Format{% endif %}) {
{{ indent }}    set {{ response }}.http.Content-Type = "{{ media_types[format] }}";
{{ indent }}    synthetic({{ body | text }});
{{ indent }}}
{% endfor %}
{% endmacro %}
sub vcl_purge {
    return (synth(200, "Purged"));
}

sub vcl_synth {
    unset resp.http.X-Varnish;
    set resp.http.Cache-Control = "no-store";
    set resp.http.X-Request-Id = req.http.X-Request-Id;
{% if rules.key_header %}
    if (resp.status == 401) {
        set resp.http.Vary = {{ rules.vary | text }};
        set resp.http.WWW-Authenticate = {{ rules.challenge | text }};
{{ failure("        ", "resp", "req", errors["no_key"]) }}        return (deliver);
    }
{% endif %}
    set resp.http.Content-Type = "text/plain; charset=utf-8";
    synthetic(resp.reason);
    return (deliver);
}

sub vcl_backend_error {
    set beresp.status = {{ errors["unavailable"].status }};
    set beresp.http.Cache-Control = "no-store";
    set beresp.http.Vary = {{ rules.vary | text }};
{% if own_paths %}
    if (bereq.url ~ {{ own_paths | text }}{% if rules.order_host %} && bereq.http.Host ~ {{ order_host | text }}{% endif %}) {
        set beresp.status = {{ own_errors["unavailable"].status }};
{{ failure("        ", "beresp", "bereq", own_errors["unavailable"]) }}        return (deliver);
    }
{% endif %}
{{ failure("    ", "beresp", "bereq", errors["unavailable"]) }}    return (deliver);
}
