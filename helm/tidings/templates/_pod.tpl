{{/* The Pod of rooms, Jobs and tests. */}}

{{/* Every container of the chart, hooks and tests included, is clean under the level `restricted`. */}}
{{- define "tidings.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "tidings.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.podSecurityContext.runAsUser }}
runAsGroup: {{ .Values.podSecurityContext.runAsGroup }}
fsGroup: {{ .Values.podSecurityContext.fsGroup }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{/* git-sync, once before the program, or beside it: `dict "root" $ "once" true`. */}}
{{- define "tidings.gitSync" -}}
{{- $git := .root.Values.catalogue.git -}}
{{- $beside := and $git.sidecar (not .once) -}}
- name: git-sync
  image: {{ $git.image | quote }}
  {{- if $beside }}
  restartPolicy: Always
  {{- end }}
  env:
    - {name: GITSYNC_REPO, value: {{ $git.repository | quote }}}
    - {name: GITSYNC_REF, value: {{ $git.ref | quote }}}
    - {name: GITSYNC_ROOT, value: /git/catalogue}
    - {name: GITSYNC_LINK, value: current}
    - {name: GITSYNC_DEPTH, value: "1"}
    - {name: HOME, value: /tmp}
    {{- if $beside }}
    - {name: GITSYNC_PERIOD, value: {{ $git.period | quote }}}
    - {name: GITSYNC_HTTP_BIND, value: ":7290"}
    {{- else }}
    - {name: GITSYNC_ONE_TIME, value: "true"}
    {{- end }}
  {{- with $git.existingSecret }}
  envFrom:
    - secretRef: {name: {{ . }}}
  {{- end }}
  {{- if $beside }}
  ports:
    - {name: git-sync, containerPort: 7290, protocol: TCP}
  startupProbe:
    httpGet: {path: /, port: git-sync}
    periodSeconds: 2
    failureThreshold: 60
  {{- end }}
  securityContext:
    {{- include "tidings.containerSecurity" .root | nindent 4 }}
  resources:
    {{- toYaml $git.resources | nindent 4 }}
  volumeMounts:
    - {name: catalogue, mountPath: /git/catalogue}
    - {name: git, mountPath: /tmp}
{{- end -}}

{{/* The mounts of the program. */}}
{{- define "tidings.mounts" -}}
- {name: config, mountPath: /etc/tidings/config, readOnly: true}
- {name: secrets, mountPath: /etc/tidings/secrets, readOnly: true}
- {name: catalogue, mountPath: /etc/tidings/catalogue, readOnly: true}
- {name: data, mountPath: /var/lib/tidings}
{{- if and (eq .room "sender") .root.Values.secrets.dkim.existingSecret }}
- {name: dkim, mountPath: /etc/tidings/dkim, readOnly: true}
{{- end }}
{{- end -}}

{{/* The volumes of the program: `dict "root" $ "room" "ingest" "suffix" "" "dataSizeLimit" "1Gi"`. */}}
{{- define "tidings.volumes" -}}
- name: config
  configMap:
    name: {{ include "tidings.fullname" .root }}-config{{ .suffix }}
    items: [{key: {{ .room }}.yaml, path: tidings.yaml}]
- name: secrets
  projected:
    defaultMode: 0440
    {{- with include "tidings.secretsOf" . | fromYamlArray }}
    sources:
    {{- range . }}
      - {{ .kind }}:
          name: {{ .object }}
          items: [{key: {{ .key | quote }}, path: {{ .file }}}]
    {{- end }}
    {{- else }}
    sources: []
    {{- end }}
{{- if and (eq .room "sender") .root.Values.secrets.dkim.existingSecret }}
- name: dkim
  secret:
    secretName: {{ .root.Values.secrets.dkim.existingSecret }}
    defaultMode: 0440
    {{- with .root.Values.secrets.dkim.items }}
    items:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- end }}
{{ include "tidings.catalogueVolume" . }}
- name: data
  emptyDir: {sizeLimit: {{ .dataSizeLimit }}}
{{- end -}}

{{/*
A Pod that runs one command and ends: `dict "root" $ "room" "migrate" "component" "migrate" "suffix" "-migrate"
"account" "…" "args" (list …) "resources" …`.
*/}}
{{- define "tidings.taskPod" -}}
metadata:
  labels:
    {{- include "tidings.labels" (dict "root" .root "component" .component) | nindent 4 }}
spec:
  restartPolicy: Never
  serviceAccountName: {{ .account }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "tidings.podSecurity" .root | nindent 4 }}
  {{- if eq .root.Values.catalogue.source "git" }}
  initContainers:
    {{- include "tidings.gitSync" (dict "root" .root "once" true) | nindent 4 }}
  {{- end }}
  containers:
    - name: tidings
      image: {{ include "tidings.image" (dict "root" .root) | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args:
        {{- toYaml .args | nindent 8 }}
      env:
        - {name: TIDINGS_CONFIG, value: /etc/tidings/config/tidings.yaml}
        {{- with .root.Values.roomDefaults.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      securityContext:
        {{- include "tidings.containerSecurity" .root | nindent 8 }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        {{- include "tidings.mounts" . | nindent 8 }}
        {{- with .root.Values.roomDefaults.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- include "tidings.volumes" (merge (dict "dataSizeLimit" .root.Values.roomDefaults.dataSizeLimit) .) | nindent 4 }}
    {{- with .root.Values.roomDefaults.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .root.Values.roomDefaults.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.roomDefaults.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
