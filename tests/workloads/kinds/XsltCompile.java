package workloads.kinds;

import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import workloads.Kind;

/** TransformerFactory.newTransformer(stylesheet) for each document; Templates are the cure. */
public final class XsltCompile implements Kind {
    private static final String STYLESHEET =
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>"
        + "<xsl:template match='/'><out><xsl:value-of select='in'/></out></xsl:template>"
        + "</xsl:stylesheet>";

    private final TransformerFactory factory = TransformerFactory.newInstance();
    private Templates templates;

    private static StreamSource source(String text) {
        return new StreamSource(new StringReader(text));
    }

    private static Object use(Transformer transformer) throws Throwable {
        transformer.transform(source("<in>1</in>"), new StreamResult(new StringWriter()));
        return transformer;
    }

    @Override
    public Object fresh(int n) throws Throwable {
        return use(factory.newTransformer(source(STYLESHEET)));
    }

    @Override
    public Object cached(int n) throws Throwable {
        if (templates == null) {
            templates = factory.newTemplates(source(STYLESHEET));
        }
        return use(templates.newTransformer());
    }
}
