import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.OffsetDateTime;
import java.util.Iterator;
import org.openapitools.client.ApiClient;

/**
 * Reads the service's answers with the models that openapi-generator has made for Java, and prints what came of it.
 *
 * <p>Standard input is an object of operation → {@code {model, answer}}; the output is one of operation → empty, or what
 * went wrong. An answer is right if the model, written again, has every value of it; lists that it lacks are empty then.
 */
public class OfOpenapiGenerator {
  public static void main(String[] arguments) throws Exception {
    ObjectMapper mapper = ApiClient.createDefaultObjectMapper();
    JsonNode told = mapper.readTree(System.in);
    ObjectNode results = mapper.createObjectNode();
    for (Iterator<String> operations = told.fieldNames(); operations.hasNext(); ) {
      String operation = operations.next();
      results.put(operation, read(mapper, told.get(operation)));
    }
    System.out.println(mapper.writeValueAsString(results));
  }

  private static String read(ObjectMapper mapper, JsonNode told) {
    JsonNode answer = told.get("answer");
    try {
      Class<?> model = Class.forName("org.openapitools.client.model." + told.get("model").asText());
      return lost("", answer, mapper.readTree(mapper.writeValueAsString(mapper.treeToValue(answer, model))));
    } catch (Exception error) {
      return error.toString();
    }
  }

  /** Returns the first place whose value is not what was sent; empty: there is none. */
  private static String lost(String place, JsonNode sent, JsonNode parsed) {
    if (parsed == null || sent.isContainerNode() != parsed.isContainerNode() || sent.isArray() && sent.size() != parsed.size()) {
      return place + ": " + parsed;
    }
    for (Iterator<String> names = sent.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      String inside = lost(place + "." + name, sent.get(name), parsed.get(name));
      if (!inside.isEmpty()) {
        return inside;
      }
    }
    for (int index = 0; sent.isArray() && index < sent.size(); index++) {
      String inside = lost(place + "[" + index + "]", sent.get(index), parsed.get(index));
      if (!inside.isEmpty()) {
        return inside;
      }
    }
    return sent.isContainerNode() || isSame(sent, parsed) ? "" : place + ": " + parsed;
  }

  private static boolean isSame(JsonNode sent, JsonNode parsed) {
    if (sent.equals(parsed)) {
      return true;
    }
    if (sent.isNumber()) {
      return sent.decimalValue().compareTo(parsed.decimalValue()) == 0;
    }
    return OffsetDateTime.parse(sent.asText()).isEqual(OffsetDateTime.parse(parsed.asText()));
  }
}
