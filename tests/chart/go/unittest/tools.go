//go:build tools

package unittest

import _ "github.com/helm-unittest/helm-unittest/cmd/helm-unittest"
