{{/* Names, labels and images. */}}

{{- define "tidings.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* All rooms, in the order of the data. */}}
{{- define "tidings.roomNames" -}}
- ingest
- fanout
- digest
- sender
- feed
- slots
- keeper
{{- end -}}

{{/* What never changes of an object's labels: `dict "root" $ "component" "ingest"`. */}}
{{- define "tidings.selectorLabels" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end -}}

{{- define "tidings.labels" -}}
{{ include "tidings.selectorLabels" . }}
app.kubernetes.io/part-of: tidings
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The image, or another version of it for one room: `dict "root" $ "own" $room.image`. */}}
{{- define "tidings.image" -}}
{{- $image := .root.Values.image -}}
{{- $own := .own | default dict -}}
{{- $digest := or $own.digest (and (not $own.tag) $image.digest) -}}
{{- if $digest -}}
{{- printf "%s@%s" $image.repository $digest -}}
{{- else -}}
{{- printf "%s:%s" $image.repository (coalesce $own.tag $image.tag .root.Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "tidings.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "tidings.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* The account of the hook: others of the release are not there yet when it runs. */}}
{{- define "tidings.migrateAccountName" -}}
{{- if and (eq .Values.migrate.mode "hook") .Values.serviceAccount.create -}}
{{- printf "%s-migrate" (include "tidings.fullname" .) -}}
{{- else -}}
{{- include "tidings.serviceAccountName" . -}}
{{- end -}}
{{- end -}}

{{/*
Annotations of the migrate Job, and of what it needs before it: `dict "weight" "-10"`. The Job stays, so that its log can
be read; what it needed goes.
*/}}
{{- define "tidings.migrateHook" -}}
helm.sh/hook: pre-install,pre-upgrade,pre-rollback
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation{{ if ne .weight "-10" }},hook-succeeded{{ end }}
{{- end -}}

{{/* A room's values: its own over those of all rooms. `dict "root" $ "room" "ingest"`. */}}
{{- define "tidings.room" -}}
{{- $own := get .root.Values.rooms .room | default dict -}}
{{- mustMergeOverwrite (deepCopy .root.Values.roomDefaults) (deepCopy $own) | toYaml -}}
{{- end -}}

{{/* How many Pods a room has at least. */}}
{{- define "tidings.replicasMin" -}}
{{- if eq .room "keeper" -}}
1
{{- else if ne .values.autoscaling.kind "none" -}}
{{ .values.autoscaling.minReplicas }}
{{- else -}}
{{ .values.replicas }}
{{- end -}}
{{- end -}}

{{/* Which paths lead to the feed from outside, beside these: `dict "root" $ "way" .Values.ingress`. Without logins nobody
outside has anything to show there, unless the others lead there anyway. */}}
{{- define "tidings.feedPaths" -}}
{{- $found := list -}}
{{- range $path := .way.feedPaths -}}
{{- $isOpen := not (empty $.root.Values.config.person_tokens) -}}
{{- range $.way.paths -}}
{{- if hasPrefix (printf "%s/" (trimSuffix "/" .)) (printf "%s/" (trimSuffix "/" $path)) -}}{{- $isOpen = true -}}{{- end -}}
{{- end -}}
{{- if $isOpen -}}{{- $found = append $found $path -}}{{- end -}}
{{- end -}}
{{- $found | toJson -}}
{{- end -}}

{{- define "tidings.publicHost" -}}
{{- (urlParse .Values.config.public_url).hostname -}}
{{- end -}}

{{/* The ports at the ends of addresses, a list or a text with commas: `dict "addresses" … "default" 9092`. */}}
{{- define "tidings.portsOf" -}}
{{- $all := kindIs "string" .addresses | ternary (splitList "," (toString .addresses)) .addresses -}}
{{- $ports := list -}}
{{- range $all -}}
{{- $ports = append $ports (regexFind "[0-9]+$" (trimSuffix "/" (trim .)) | default "443" | int) -}}
{{- end -}}
{{- $ports | uniq | sortAlpha | toJson -}}
{{- end -}}

{{- define "tidings.listOf" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ join "," . }}{{ end -}}
{{- end -}}
