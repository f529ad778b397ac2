package threats

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// source is what the tests of a package declare.
type source map[string]ast.Node // functions and variables, by name

// tests reads the tests of a package.
func tests(t *testing.T, dir string) source {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no tests in %s (%v)", dir, err)
	}
	s := source{}
	for _, file := range files {
		s.add(t, file, nil)
	}
	return s
}

// add parses a file, or its text.
func (s source) add(t *testing.T, file string, text any) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				s[d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						s[name.Name] = v
					}
				}
			}
		}
	}
}

// exists reports whether there is a test of that name, "TestName" or "TestName/subtest".
func (s source) exists(name string) bool {
	test, sub, _ := strings.Cut(name, "/")
	if _, ok := s[test].(*ast.FuncDecl); !ok {
		return false
	}
	names := s.subtests(test)
	if sub == "" || names[sub] {
		return true
	}
	for i := range sub { // one in another; a name may have a slash of its own
		if sub[i] == '/' && names[sub[:i]] && names[sub[i+1:]] {
			return true
		}
	}
	return false
}

// subtests returns the names that a test's subtests have, in it and in what it uses: what
// is given to Run as it is written; and of an entry in a table what it begins with, its
// key, its name, and its id with what it does.
func (s source) subtests(test string) map[string]bool {
	names := map[string]bool{}
	add := func(e ast.Expr) {
		if text, ok := literal(e); ok {
			names[text] = true
		}
	}
	seen, todo := map[string]bool{test: true}, []string{test}
	for len(todo) > 0 {
		decl := s[todo[0]]
		todo = todo[1:]
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if s[n.Name] != nil && !seen[n.Name] {
					seen[n.Name] = true
					todo = append(todo, n.Name)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Run" && len(n.Args) == 2 {
					add(n.Args[0])
				}
			case *ast.CompositeLit:
				fields := map[string]string{}
				for i, e := range n.Elts {
					pair, keyed := e.(*ast.KeyValueExpr)
					switch {
					case !keyed && i == 0:
						add(e)
					case keyed:
						add(pair.Key)
						if field, ok := pair.Key.(*ast.Ident); ok {
							fields[field.Name], _ = literal(pair.Value)
						}
					}
				}
				if fields["name"] != "" {
					names[fields["name"]] = true
				}
				if fields["id"] != "" {
					names[fields["id"]+" "+fields["does"]] = true
				}
			}
			return true
		})
	}
	return names
}

func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func TestExists(t *testing.T) {
	s := source{}
	s.add(t, "x_test.go", `package x
var table = []row{{name: "named", does: "that"}, {id: "R1", does: "something"}}
var elsewhere = []row{{name: "of another test"}}
func TestOne(t *testing.T) {
	const text = "a text"
	for _, r := range table { t.Run(r.name, nil) }
	for _, r := range []row{{"first", "second"}} { t.Run(r.name, nil) }
	for name := range map[string]bool{"key": true} { t.Run(name, nil) }
	t.Run("run", func(t *testing.T) { helper(t, "argument") })
}
func helper(t *testing.T, s string) { t.Run("in a helper", nil); t.Log("a log") }
func TestTwo(t *testing.T) { t.Run("of another test", nil) }
`)
	for name, want := range map[string]bool{
		"TestOne": true, "TestOne/named": true, "TestOne/R1 something": true, "TestOne/first": true, "TestOne/key": true,
		"TestOne/run": true, "TestOne/in a helper": true, "TestOne/run/in a helper": true,
		"TestTwo/of another test": true,
		"TestNone":                false, "table": false, "TestOne/of another test": false, "TestOne/a text": false, "TestOne/second": false,
		"TestOne/that": false, "TestOne/argument": false, "TestOne/a log": false, "TestOne/run/none": false, "TestTwo/run": false,
	} {
		if got := s.exists(name); got != want {
			t.Errorf("%s exists: %v", name, got)
		}
	}
}
