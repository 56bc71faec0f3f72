/** Type declaration of the Swagger UI bundle, which has no types of its own. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  interface Options {
    url: string;
    domNode: HTMLElement;
    docExpansion: 'list' | 'full' | 'none';
    deepLinking: boolean;
  }
  export default function SwaggerUI(options: Options): unknown;
}
