// Package apilist lists what a package exports, from its source. Its test compares the
// public packages with a golden file, so that none of them changes by accident.
package apilist

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// List returns a line for each identifier that the package in dir exports, sorted:
// constants, variables, functions, types, and of these the fields and methods. What
// only one system has is listed as well.
func List(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	l := lister{files: token.NewFileSet(), prefix: filepath.Base(dir) + "."}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(l.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			l.declaration(d)
		}
	}
	slices.Sort(l.lines)
	return slices.Compact(l.lines), nil
}

type lister struct {
	files  *token.FileSet
	prefix string
	lines  []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, l.prefix+fmt.Sprintf(format, args...))
}

// source is a piece of the source on one line.
func (l *lister) source(node ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, l.files, node); err != nil {
		return err.Error() // it is in the golden file then, for everybody to see
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (l *lister) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		l.function(d)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				l.typ(spec)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					if name.IsExported() {
						l.add("%s %s", name, d.Tok)
					}
				}
			}
		}
	}
}

func (l *lister) function(d *ast.FuncDecl) {
	signature := strings.TrimPrefix(l.source(d.Type), "func")
	switch {
	case !d.Name.IsExported():
	case d.Recv == nil:
		l.add("%s func%s", d.Name, signature)
	default:
		receiver := l.source(d.Recv.List[0].Type)
		if name := strings.TrimPrefix(receiver, "*"); ast.IsExported(name) {
			l.add("%s.%s method (%s)%s", name, d.Name, receiver, signature)
		}
	}
}

func (l *lister) typ(spec *ast.TypeSpec) {
	if !spec.Name.IsExported() {
		return
	}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		l.add("%s struct", spec.Name)
		l.members(spec.Name.Name, "field", t.Fields)
	case *ast.InterfaceType:
		l.add("%s interface", spec.Name)
		l.members(spec.Name.Name, "method", t.Methods)
	default:
		l.add("%s type %s", spec.Name, l.source(t))
	}
}

// members lists the exported fields of a struct, or all methods of an interface: one
// that is not exported keeps others from implementing it.
func (l *lister) members(of, what string, list *ast.FieldList) {
	for _, f := range list.List {
		if typ := l.source(f.Type); len(f.Names) == 0 && ast.IsExported(typ[strings.LastIndexAny(typ, "*.")+1:]) {
			l.add("%s embedded %s", of, typ)
		}
		for _, name := range f.Names {
			if name.IsExported() || what == "method" {
				l.add("%s.%s %s %s", of, name, what, l.source(f.Type))
			}
		}
	}
}
