{{/* Rules of egress to some ports: `dict "ports" (list 9092) "to" (list …)`. */}}
{{- define "tidings.egressRule" -}}
- ports:
  {{- range .ports }}
    - {port: {{ . }}, protocol: TCP}
  {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{/* The port of the receiver of traces: that of its address, or of its scheme. */}}
{{- define "tidings.tracesPorts" -}}
{{- $url := urlParse . -}}
{{- $port := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "80" "443" (eq $url.scheme "http")) -}}
{{- list (int $port) | toJson -}}
{{- end -}}

{{/* What a room, or a Job with its settings, reaches: `dict "root" $ "room" "ingest"`. */}}
{{- define "tidings.egress" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- $config := .root.Values.config -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- $kafka := $policy.kafkaPorts | default (include "tidings.portsOf" (dict "addresses" $config.kafka.brokers) | fromJsonArray) }}
{{ include "tidings.egressRule" (dict "ports" $kafka "to" $policy.kafka) }}
{{- $cql := $policy.cqlPorts | default (include "tidings.portsOf" (dict "addresses" $config.cql.contact_points) | fromJsonArray) }}
{{ include "tidings.egressRule" (dict "ports" $cql "to" $policy.cql) }}
{{- with ($config.registry | default dict).url }}
{{ include "tidings.egressRule" (dict "ports" (include "tidings.portsOf" (dict "addresses" .) | fromJsonArray) "to" $policy.registry) }}
{{- end }}
{{- with ($config.traces | default dict).endpoint }}
{{ include "tidings.egressRule" (dict "ports" (include "tidings.tracesPorts" . | fromJsonArray) "to" $policy.traces) }}
{{- end }}
{{- if and (has .room (list "digest" "sender")) ($config.presence | default dict).url }}
{{ include "tidings.egressRule" (dict "ports" (include "tidings.portsOf" (dict "addresses" (list (urlParse $config.presence.url).host)) | fromJsonArray)) }}
{{- end }}
{{- if eq .room "feed" }}
{{- $hosts := list }}
{{- range $config.person_tokens }}
{{- with .keys_url }}{{- $hosts = append $hosts (urlParse .).host }}{{- end }}
{{- end }}
{{- with $hosts }}
{{ include "tidings.egressRule" (dict "ports" (include "tidings.portsOf" (dict "addresses" .) | fromJsonArray)) }}
{{- end }}
{{- end }}
{{- if eq .room "sender" }}
{{ include "tidings.egressRule" (dict "ports" (concat $policy.mailPorts $policy.webPorts | uniq)) }}
{{- end }}
{{- if eq .root.Values.catalogue.source "git" }}
{{ include "tidings.egressRule" (dict "ports" (list 22 443)) }}
{{- end }}
{{- with $policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
