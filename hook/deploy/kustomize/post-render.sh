#!/bin/sh
# Reads the manifests that Helm rendered, adds the hook, and prints them: helm upgrade … --post-renderer <this folder>/post-render.sh
set -eu
component=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/rendered.yaml"
mkdir "$work/hook"
cp "$component/kustomization.yaml" "$component/rbac.yaml" "$work/hook"
printf 'resources: [rendered.yaml]\ncomponents: [hook]\n' > "$work/kustomization.yaml"
${KUBECTL:-kubectl} kustomize "$work"
