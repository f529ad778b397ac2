// Package canary finds what is left of a secret, for tests that put one into every place
// there is and then look at everything that was shown.
//
//	for _, where := range canary.Find(secret, result) {
//		t.Errorf("the secret is in %s", where)
//	}
package canary
