// A span by the OpenTelemetry SDK for JavaScript, as JSON in chunks. Arguments: address, key, model.
const { BasicTracerProvider, BatchSpanProcessor } = require("@opentelemetry/sdk-trace-base");
const { OTLPTraceExporter } = require("@opentelemetry/exporter-trace-otlp-http");

const [address, key, model] = process.argv.slice(2);
const exporter = new OTLPTraceExporter({
  url: `${address}/v1/traces`,
  headers: { Authorization: `Bearer ${key}` },
});
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
const span = provider.getTracer("app").startSpan("rank");
span.setAttribute("ml.model.name", model);
span.setAttribute("ml.request.id", "js-0");
span.setAttribute("ml.field.retries", 2);
span.end();
provider.forceFlush().then(() => provider.shutdown());
