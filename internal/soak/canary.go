package main

import (
	"os"
	"strings"
)

// canary are two secrets of this program's environment: one that is held back from
// agents, and one that they are given under its name. Agents say both all the time.
var canary = struct{ withheldName, withheld, givenName, given string }{
	"SOAK_ACCESS_TOKEN", "canary-held-back-5d0c7f13", "SOAK_API_KEY", "canary-handed-on-9ab2e460",
}

// setCanary puts both into this program's environment.
func setCanary() {
	os.Setenv(canary.withheldName, canary.withheld)
	os.Setenv(canary.givenName, canary.given)
}

// hasCanary reports whether a text tells either.
func hasCanary(text string) bool {
	return strings.Contains(text, canary.withheld) || strings.Contains(text, canary.given)
}
