package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/errand-acp/errand/internal/check"
)

func TestScanSkip(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, text := range []string{
		`{}`, ` { } `, `[]`, `[ ]`, `null`, `true`, `false`, `""`, `0`, `-0`, `-1.5e+10`, `1E5`, `0.0`,
		`{"a":1,"b":[1,2,{"c":null}]}`, `{"a":1,"a":2}`, `"\u00e4\n\"\\"`, "\"\xff\"",
		`"0123456789abcdef\"0123456789"`, `"0123456\u00417890"`, "[1,\t2,\r\n3]", deep(100), deep(maxDepth),

		``, ` `, `{`, `}`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{a:1}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `[1 2]`, `01`, `1.`, `.5`, `+1`, `1e`, `-`, `tru`, `nulll`, `"`, `"\x"`, `"\u12"`,
		`"\u12g4"`, "\"a\tb\"", "\"01234567\x00\"", `"abc`, `{"a":1}}`, `1 2`, deep(maxDepth + 1),
	} {
		s := NewScan([]byte(text))
		got := s.Skip() != nil && s.End()
		if want := json.Valid([]byte(text)); got != want {
			t.Errorf("%.60q: valid %v, want %v", text, got, want)
		}
	}
}

func TestScanWalk(t *testing.T) {
	for _, text := range []string{
		`{"name":"x","list":[1,"two",{"a":{}},[]],"n\u0061me2":true,"empty":{},"last":null}`,
		` { "name" : "x" , "list" : [ 1 , "two" , { "a" : { } } , [ ] ] , "n\u0061me2" : true , "empty" : { } , "last" : null } `,
	} {
		s := NewScan([]byte(text))
		var got []string
		if !s.Object() {
			t.Fatalf("%s: no object", text)
		}
		for name, ok := s.Key(); ok; name, ok = s.Key() {
			if string(name) != "list" {
				got = append(got, string(name)+"="+strings.ReplaceAll(string(s.Skip()), " ", ""))
				continue
			}
			for s.Array(); s.Elem(); {
				got = append(got, strings.ReplaceAll(string(s.Skip()), " ", ""))
			}
		}
		want := []string{`name="x"`, `1`, `"two"`, `{"a":{}}`, `[]`, `name2=true`, `empty={}`, `last=null`}
		if diff := cmp.Diff(want, got); diff != "" || !s.End() {
			t.Errorf("%s: end %v (-want +got)\n%s", text, s.End(), diff)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,"\ud83d\ude00",true,null],"a":{}}`, `"\ud800"`, `[[[]]`, `{"x" :1 , "y":"\\"}`, "\"\x7f\xff\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check.Cost(t, len(text))
		s := NewScan(text)
		raw := s.Skip()
		if got, want := raw != nil && s.End(), json.Valid(text); got != want {
			t.Fatalf("%q: valid %v, want %v", text, got, want)
		}
		if !s.End() {
			return
		}
		if raw[0] == '"' {
			var want string
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(err)
			}
			if got := Unquote(validUTF8(raw)); got != want {
				t.Fatalf("%q says %q, want %q", raw, got, want)
			}
		}
		if raw[0] == '{' {
			var want map[string]json.RawMessage
			if err := json.Unmarshal(validUTF8(raw), &want); err != nil {
				t.Fatal(err)
			}
			got := map[string]json.RawMessage{}
			s := NewScan(validUTF8(raw))
			s.Object()
			for name, ok := s.Key(); ok; name, ok = s.Key() {
				got[string(name)] = s.Skip()
			}
			if diff := cmp.Diff(want, got); diff != "" || !s.End() {
				t.Fatalf("%q: (-want +got)\n%s", raw, diff)
			}
		}
	})
}
