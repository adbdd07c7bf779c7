{{/* What the program is told: one file of settings a room, and the Secrets that it names. */}}

{{/*
Every Secret that the program may read: its name in `secrets`, the setting that names its file, and the rooms that have
it. A room has no secret that it does not need.
*/}}
{{- define "tidings.secretTable" -}}
- {name: link, file: link, at: secret_file, rooms: [ingest, sender, slots]}
- {name: kafkaPassword, file: kafka-password, at: kafka.password_file, rooms: [all]}
- {name: kafkaCa, file: kafka-ca, at: kafka.ca, rooms: [all]}
- {name: kafkaCertificate, file: kafka-certificate, at: kafka.certificate, rooms: [all], keyed: certificateKey}
- {name: kafkaCertificate, file: kafka-key, at: kafka.key, rooms: [all], keyed: keyKey}
- {name: cqlPassword, file: cql-password, at: cql.password_file, rooms: [all]}
- {name: cqlCa, file: cql-ca, at: cql.ca, rooms: [all]}
- {name: cqlCertificate, file: cql-certificate, at: cql.certificate, rooms: [all], keyed: certificateKey}
- {name: cqlCertificate, file: cql-key, at: cql.key, rooms: [all], keyed: keyKey}
- {name: registryPassword, file: registry-password, at: registry.password_file, rooms: [all]}
- {name: registryCa, file: registry-ca, at: registry.ca, rooms: [all]}
- {name: tracesHeaders, file: traces-headers, at: traces.headers_file, rooms: [all]}
- {name: tracesCa, file: traces-ca, at: traces.ca, rooms: [all]}
- {name: mailWays, file: mail-ways, at: mail.ways_file, rooms: [sender]}
- {name: mailCa, file: mail-ca, at: mail.ca, rooms: [sender]}
- {name: apnsKey, file: apns-key, at: apns.key_file, rooms: [sender]}
- {name: fcmAccount, file: fcm-account, at: fcm.account_file, rooms: [sender]}
- {name: webpushKey, file: webpush-key, at: webpush.key_file, rooms: [ingest, sender]}
- {name: pushCa, file: push-ca, at: push.ca, rooms: [sender]}
- {name: hooksSecret, file: hooks-secret, at: hooks.secret_file, rooms: [sender]}
- {name: hooksCa, file: hooks-ca, at: hooks.ca, rooms: [sender]}
{{- end -}}

{{/* What of `config` only some rooms have. Elsewhere they would have no effect, and the program says so. */}}
{{- define "tidings.sectionTable" -}}
mail: [ingest, sender]
push: [sender]
apns: [sender]
fcm: [sender]
webpush: [ingest, sender]
hooks: [sender]
person_tokens: [feed]
{{- end -}}

{{/* The Secrets of a room that are given: a list of `{file, at, kind, object, key}`. */}}
{{- define "tidings.secretsOf" -}}
{{- $found := list -}}
{{- $values := .root.Values.secrets -}}
{{- $room := .room -}}
{{- range include "tidings.secretTable" . | fromYamlArray -}}
{{- $given := get $values .name -}}
{{- $object := $given.existingSecret | default (get $given "existingConfigMap") -}}
{{- if and $object (or (has "all" .rooms) (has $room .rooms)) -}}
{{- $kind := empty $given.existingSecret | ternary "configMap" "secret" -}}
{{- $key := get $given (default "key" .keyed) -}}
{{- $found = append $found (dict "file" .file "at" .at "kind" $kind "object" $object "key" $key) -}}
{{- end -}}
{{- end -}}
{{- if ne $room "migrate" -}}
{{- $metrics := $values.metrics -}}
{{- $found = append $found (dict "file" "metrics-key" "at" "" "kind" "secret" "object" $metrics.existingSecret "key" $metrics.key) -}}
{{- end -}}
{{- if has $room (list "ingest" "feed") -}}
{{- range $index, $one := $values.apiKeys -}}
{{- $found = append $found (dict "file" (printf "api-key-%d" $index) "at" "" "kind" "secret" "object" $one.existingSecret "key" (default "api-key" $one.key)) -}}
{{- end -}}
{{- end -}}
{{- if eq $room "ingest" -}}
{{- range $index, $one := $values.accessTokens -}}
{{- $found = append $found (dict "file" (printf "access-token-%d" $index) "at" "" "kind" "secret" "object" $one.existingSecret "key" (default (printf "%s-token" $one.role) $one.key)) -}}
{{- end -}}
{{- end -}}
{{- $found | toYaml -}}
{{- end -}}

{{/* The settings of a room, as its file has them: `dict "root" $ "room" "ingest"`. */}}
{{- define "tidings.config" -}}
{{- $root := .root -}}
{{- $room := .room -}}
{{- $config := deepCopy $root.Values.config -}}
{{- range $section, $rooms := include "tidings.sectionTable" . | fromYaml -}}
{{- if not (has $room $rooms) -}}{{- $_ := unset $config $section -}}{{- end -}}
{{- end -}}
{{- if and (hasKey $config "mail") (not (and (eq $room "sender") $root.Values.secrets.mailWays.existingSecret)) -}}
{{- $_ := unset $config.mail "name" -}}
{{- end -}}
{{- if and (hasKey $config "webpush") (not $root.Values.secrets.webpushKey.existingSecret) -}}
{{- $_ := unset $config "webpush" -}}
{{- end -}}
{{- range include "tidings.secretsOf" . | fromYamlArray -}}
{{- if .at -}}
{{- $path := printf "/etc/tidings/secrets/%s" .file -}}
{{- $parts := splitList "." .at -}}
{{- if eq (len $parts) 1 -}}
{{- $_ := set $config .at $path -}}
{{- else -}}
{{- $section := get $config (first $parts) | default dict -}}
{{- $_ := set $config (first $parts) (set $section (last $parts) $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and (eq $room "sender") $root.Values.secrets.dkim.existingSecret -}}
{{- $_ := set $config.mail "dkim" "/etc/tidings/dkim" -}}
{{- end -}}
{{- if and (eq $room "ingest") $root.Values.mailIntake.enabled -}}
{{- $_ := set $config.mail "intake" (printf "0.0.0.0:%d" (int $root.Values.mailIntake.containerPort)) -}}
{{- end -}}
{{- range $section := list "mail" "push" "apns" "fcm" "webpush" "hooks" -}}
{{- if not (get $config $section) -}}{{- $_ := unset $config $section -}}{{- end -}}
{{- end -}}
{{- $_ := set $config "engine" "production" -}}
{{- $_ := set $config "outbox" "none" -}}
{{- $_ := set $config "data_dir" "/var/lib/tidings/data" -}}
{{- $_ := set $config "catalogue" (include "tidings.cataloguePath" (dict "root" $root "folder" $root.Values.catalogue.subPath)) -}}
{{- with $root.Values.catalogue.canary -}}
{{- if .subPath -}}
{{- $folder := include "tidings.cataloguePath" (dict "root" $root "folder" .subPath) -}}
{{- $_ := set $config "canary" (dict "catalogue" $folder "share" .share) -}}
{{- end -}}
{{- end -}}
{{- if ne $room "migrate" -}}
{{- $_ := set $config "listen" "0.0.0.0:7280" -}}
{{- $tokens := list (dict "role" "metrics" "token_file" "/etc/tidings/secrets/metrics-key") -}}
{{- if has $room (list "ingest" "feed") -}}
{{- $keys := list -}}
{{- range $index, $one := $root.Values.secrets.apiKeys -}}
{{- $keys = append $keys (dict "tenant" $one.tenant "key_file" (printf "/etc/tidings/secrets/api-key-%d" $index)) -}}
{{- end -}}
{{- $_ := set $config "api_keys" $keys -}}
{{- end -}}
{{- if eq $room "ingest" -}}
{{- range $index, $one := $root.Values.secrets.accessTokens -}}
{{- $tokens = append $tokens (dict "role" $one.role "token_file" (printf "/etc/tidings/secrets/access-token-%d" $index)) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $config "access_tokens" $tokens -}}
{{- end -}}
{{- $config | toYaml -}}
{{- end -}}

{{/* A folder of the catalogue's source in the container: `dict "root" $ "folder" "..."`. */}}
{{- define "tidings.cataloguePath" -}}
{{- $root := eq .root.Values.catalogue.source "git" | ternary "/etc/tidings/catalogue/current" "/etc/tidings/catalogue" -}}
{{- with .folder }}{{ printf "%s/%s" $root . }}{{ else }}{{ $root }}{{ end -}}
{{- end -}}

{{/* A path as the key of a ConfigMap, which has no slashes. */}}
{{- define "tidings.fileKey" -}}
{{- . | replace "/" "__" -}}
{{- end -}}

{{/* The ConfigMap with the files of the catalogue: `dict "root" $ "suffix" "-migrate"`. */}}
{{- define "tidings.catalogueData" -}}
{{- range $path, $text := .Values.catalogue.files }}
{{ include "tidings.fileKey" $path }}: {{ $text | quote }}
{{- end }}
{{- end -}}

{{/* The volume of the catalogue: `dict "root" $ "suffix" ""`. */}}
{{- define "tidings.catalogueVolume" -}}
{{- $catalogue := .root.Values.catalogue -}}
- name: catalogue
{{- if eq $catalogue.source "files" }}
  configMap:
    name: {{ include "tidings.fullname" .root }}-catalogue{{ .suffix }}
    items:
    {{- range $path, $text := $catalogue.files }}
      - {key: {{ include "tidings.fileKey" $path }}, path: {{ $path | quote }}}
    {{- end }}
{{- else if eq $catalogue.source "configMaps" }}
  projected:
    sources:
    {{- range $catalogue.configMaps }}
      - configMap:
          {{- toYaml . | nindent 10 }}
    {{- end }}
{{- else if eq $catalogue.source "image" }}
  image:
    reference: {{ $catalogue.image.reference | quote }}
    pullPolicy: {{ $catalogue.image.pullPolicy }}
{{- else }}
  emptyDir: {sizeLimit: 1Gi}
- name: git
  emptyDir: {sizeLimit: 64Mi}
{{- end }}
{{- end -}}
