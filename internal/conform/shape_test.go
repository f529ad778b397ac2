package conform

import (
	"encoding/json"
	"testing"
)

func TestShapes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		shape *shape
		value string
		want  string
	}{
		{"a text", contentBlock, `{"type":"text","text":"a","_meta":{},"more":1}`, ""},
		{"an annotation that is null", contentBlock, `{"type":"text","text":"a","annotations":null}`, ""},
		{"an annotation of another type", contentBlock, `{"type":"text","text":"a","annotations":{"priority":"high"}}`, `x.annotations.priority is a string, not a number`},
		{"no type", contentBlock, `{"text":"a"}`, `x.type is missing`},
		{"a type that is no text", contentBlock, `{"type":1}`, `x.type is the number 1, not a string`},
		{"an unknown type", contentBlock, `{"type":"video"}`, `x.type is "video", which the schema does not list`},
		{"a resource with a text", contentBlock, `{"type":"resource","resource":{"uri":"u","text":"t"}}`, ""},
		{"a resource with a blob", contentBlock, `{"type":"resource","resource":{"uri":"u","blob":"b"}}`, ""},
		{"a resource with neither", contentBlock, `{"type":"resource","resource":{"uri":"u"}}`, `x.resource.text is missing`},
		{"a link without a name", contentBlock, `{"type":"resource_link","uri":"u"}`, `x.name is missing`},
		{"a call", toolCall, `{"toolCallId":"c","title":"t","rawInput":[1]}`, ""},
		{"a title that is null", toolCall, `{"toolCallId":"c","title":null}`, `x.title is null, not a string`},
		{"an update of the title that is null", toolCallUpdate, `{"toolCallId":"c","title":null}`, ""},
		{"an old text that is null", toolCallUpdate, `{"toolCallId":"c","content":[{"type":"diff","path":"/a","oldText":null,"newText":""}]}`, ""},
		{"a line that is no whole number", location, `{"path":"/a","line":1.5}`, `x.line is the number 1.5, not a whole number from 0`},
		{"a line below 0", location, `{"path":"/a","line":-1}`, `x.line is the number -1, not a whole number from 0`},
		{"options in groups", configOptions, `{"configOptions":[{"type":"select","id":"m","name":"M","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"}]}]}]}`, ""},
		{"an option that is on or off", configOptions, `{"configOptions":[{"type":"boolean","id":"m","name":"M","currentValue":true}]}`, ""},
		{"an option that is on or off, by a word", configOptions, `{"configOptions":[{"type":"boolean","id":"m","name":"M","currentValue":"on"}]}`, `x.configOptions[0].currentValue is a string, not a boolean`},
		{"the second entry", planUpdate, `{"entries":[{"content":"a","priority":"low","status":"pending"},{"content":"b","priority":"low"}]}`, `x.entries[1].status is missing`},
		{"entries that are none", planUpdate, `{"entries":{}}`, `x.entries is an object, not an array`},
		{"nothing", promptResponse, ``, `x is missing`},
		{"many", permissionRequest, `{"toolCall":{},"options":[{}]}`, `x.options[0].kind is missing; x.options[0].name is missing; x.options[0].optionId is missing; and 2 more`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := say(tt.shape.misfits("x", json.RawMessage(tt.value))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
