package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

// lockFile is what matters of a package-lock.json.
type lockFile struct {
	LockfileVersion int
	Packages        map[string]struct {
		Version, Integrity, Resolved string
		Link, Optional               bool
		Dependencies                 map[string]string
	}
}

var exact = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func testPinned(t *testing.T) {
	folders, err := locks.ReadDir("npm")
	if err != nil {
		t.Fatal(err)
	}
	var pinned, used []string
	for _, folder := range folders {
		pinned = append(pinned, folder.Name())
		manifest, lock := readLock(t, folder.Name())
		for _, fault := range faultsOf(manifest, lock) {
			t.Errorf("npm/%s: %s", folder.Name(), fault)
		}
	}
	for _, a := range agents {
		if a.npm {
			used = append(used, a.name)
		}
	}
	slices.Sort(used)
	if diff := cmp.Diff(used, pinned); diff != "" {
		t.Errorf("agents from npm, and folders of lock files (-agents +folders):\n%s", diff)
	}
}

func testInstalled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("npm is a shell script here")
	}
	bin, root := t.TempDir(), t.TempDir()
	// Says what it was called for, and what was there at that time.
	program := "#!/bin/sh\necho \"$@\" > called\ncp package.json seen.json\ncp package-lock.json seen-lock.json\n"
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(root, "package-lock.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err) // of an earlier installation
	}
	if err := npmInstall(t.Context(), "gemini", root); err != nil {
		t.Fatal(err)
	}
	called, err := os.ReadFile(filepath.Join(root, "called"))
	if err != nil {
		t.Fatal(err)
	}
	check.Has(t, string(called), "ci --ignore-scripts")
	for seen, name := range map[string]string{"seen.json": "package.json", "seen-lock.json": "package-lock.json"} {
		got, err := os.ReadFile(filepath.Join(root, seen))
		if err != nil {
			t.Fatal(err)
		}
		want, err := locks.ReadFile(path.Join("npm/gemini", name))
		if err != nil {
			t.Fatal(err)
		}
		check.Equal(t, name, string(got), string(want))
	}
}

// A lock file that pins less is noticed.
func TestFaultsOfLocks(t *testing.T) {
	manifest, lock := readLock(t, "gemini")
	read := func(from, to string) []string {
		if !strings.Contains(lock, from) && !strings.Contains(manifest, from) {
			t.Fatalf("nothing has %q", from)
		}
		return faultsOf(strings.ReplaceAll(manifest, from, to), strings.ReplaceAll(lock, from, to))
	}
	for what, change := range map[string][2]string{
		"a range":          {`"@google/gemini-cli": "0.61.0"`, `"@google/gemini-cli": "^0.61.0"`},
		"a tag":            {`"@google/gemini-cli": "0.61.0"`, `"@google/gemini-cli": "latest"`},
		"no digest":        {`"integrity"`, `"integrity-of-old"`},
		"a weaker digest":  {"sha512-", "sha1-"},
		"a cut digest":     {"==\"", "\""},
		"another origin":   {`"integrity"`, `"resolved": "git+ssh://host/x.git", "integrity"`},
		"a missing entry":  {`"node_modules/nan"`, `"node_modules/nan2"`},
		"an older format":  {`"lockfileVersion": 3`, `"lockfileVersion": 1`},
		"another manifest": {`"name": "errand-interop-gemini",` + "\n" + `  "private"`, `"dependencies": {"other": "1.0.0"}, "private"`},
	} {
		if what == "another manifest" {
			if len(faultsOf(`{"dependencies": {"other": "1.0.0"}}`, lock)) == 0 {
				t.Errorf("%s is not noticed", what)
			}
			continue
		}
		if len(read(change[0], change[1])) == 0 {
			t.Errorf("%s is not noticed", what)
		}
	}
}

func readLock(t *testing.T, name string) (manifest, lock string) {
	t.Helper()
	var texts [2]string
	for i, file := range []string{"package.json", "package-lock.json"} {
		text, err := locks.ReadFile(path.Join("npm", name, file))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	return texts[0], texts[1]
}

// faultsOf tells where the two files leave open what is installed.
func faultsOf(manifestText, lockText string) []string {
	var faults []string
	fault := func(words ...string) { faults = append(faults, strings.Join(words, " ")) }
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal([]byte(manifestText), &manifest); err != nil {
		fault(err.Error())
	}
	var lock lockFile
	if err := json.Unmarshal([]byte(lockText), &lock); err != nil {
		fault(err.Error())
	}
	if lock.LockfileVersion < 2 {
		fault("the lock file has an old format")
	}
	if len(manifest.Dependencies) != 1 {
		fault("package.json names more or less than one package")
	}
	for name, version := range manifest.Dependencies {
		if !exact.MatchString(version) {
			fault(name, "is not pinned by package.json:", version)
		}
		if lock.Packages["node_modules/"+name].Version != version {
			fault(name, "is not in the lock file with version", version)
		}
	}
	if diff := cmp.Diff(manifest.Dependencies, lock.Packages[""].Dependencies); diff != "" {
		fault("the lock file is for another package.json:", diff)
	}
	for place, p := range lock.Packages {
		if place == "" {
			continue
		}
		digest, isSHA512 := strings.CutPrefix(p.Integrity, "sha512-")
		if sum, err := base64.StdEncoding.DecodeString(digest); !isSHA512 || err != nil || len(sum) != 64 {
			fault(place, "has no digest")
		}
		if !exact.MatchString(p.Version) {
			fault(place, "has no version")
		}
		if p.Resolved != "" || p.Link {
			fault(place, "comes from elsewhere than the registry")
		}
		for name := range p.Dependencies {
			if !found(lock, place, name) {
				fault(place, "needs", name, "which is not pinned")
			}
		}
	}
	return faults
}

// found says whether a package finds its dependency, as node looks for it.
func found(lock lockFile, place, name string) bool {
	for {
		if _, ok := lock.Packages[path.Join(place, "node_modules", name)]; ok {
			return true
		}
		if place == "" {
			return false
		}
		place = strings.TrimSuffix(place[:max(strings.LastIndex(place, "node_modules/"), 0)], "/")
	}
}
